"""A wake-up or a sealed Draft arrives."""
