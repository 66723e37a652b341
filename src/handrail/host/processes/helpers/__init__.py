"""The bundled helper programs (ripgrep, shfmt): where they are, and whether they can be trusted."""
