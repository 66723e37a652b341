"""The confinement backends (bubblewrap, Landlock) and the kernel rules they apply."""
