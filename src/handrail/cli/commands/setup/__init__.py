"""Commands that set up a workspace, a client or a shell."""
