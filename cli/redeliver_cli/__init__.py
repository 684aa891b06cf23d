"""`redeliver`, the command line of the person on call: what is not getting through, why, and how to send it again."""
