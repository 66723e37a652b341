"""The pages, one module each: values in, HTML out."""
