"""Pictures, PDF files and notebooks as text and images, decoded by a confined process."""
