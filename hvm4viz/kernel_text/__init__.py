"""The kernel's one text and the layouts it shares with the host."""
