"""The three tables: what an item looks like, and the conditional writes."""
