"""Tools that read or change named files and directories."""
