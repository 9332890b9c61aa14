"""What every method shares: roles of columns, the collapsed table, the columns of the release."""
