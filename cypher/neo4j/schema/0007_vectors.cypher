// Nothing to change here: a vector is a list of any length. The embedded engines get such a column.
