"""What the person on call does: look, find, explain, send again, hold. The command line and the page are made of it."""
