"""Deliver notifications once, retry them while the endpoint is down, and forget them when they may be forgotten."""
