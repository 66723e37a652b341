"""Search by ripgrep: command line, output, and re-reading where its answer is not trusted."""
