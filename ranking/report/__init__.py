"""HTML reports and workbooks."""
