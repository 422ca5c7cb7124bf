"""What makes the encoder: needed only by who builds model files."""
