"""How sure the outcomes of the cases of a suite are, and so its bar."""
