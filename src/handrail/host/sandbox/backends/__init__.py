"""The confinement backends (bubblewrap, Landlock) and the kernel rules that they apply."""
