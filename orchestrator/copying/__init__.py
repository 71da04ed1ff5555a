"""Copies a project from one graph to another, of whatever engine, and proves that nothing was lost on the way."""
