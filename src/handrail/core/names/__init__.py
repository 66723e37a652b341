"""File names that mean something by themselves: protected, obeyed, sensitive."""
