"""After a crash: finish or roll back what was interrupted."""
