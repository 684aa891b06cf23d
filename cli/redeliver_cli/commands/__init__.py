"""The commands, by what they are for: to see, to move, to hold, to ask, and the channels."""
