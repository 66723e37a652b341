"""Reading files: whole, by lines, with a cache of decoded contents."""
