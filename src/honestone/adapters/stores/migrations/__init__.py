"""What makes the tables of a shared store, format by format. A file that has been released is never
edited; append another.
"""
