"""What is believed of marks on a scale."""
