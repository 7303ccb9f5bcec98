"""Histories from elsewhere: read in their own form, turned into this lab's rows."""
