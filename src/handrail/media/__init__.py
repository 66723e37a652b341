"""Pictures, PDF files and notebooks as text and images, read by a confined process."""
