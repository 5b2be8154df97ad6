"""A judged text on a page, as it is and with the quotes of judges marked."""
