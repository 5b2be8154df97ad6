"""How far judges and raters can be trusted."""
