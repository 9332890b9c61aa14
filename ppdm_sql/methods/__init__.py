"""The methods of the five papers, a folder each, over one common base."""
