"""The history page: what an operator sees of the records, as the HTML of a CloudWatch custom widget."""
