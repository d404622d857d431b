"""Figures from reports and traces; Gradio and Pygame views over the same Session."""
