"""Documents made from records; nothing here knows a medium."""
