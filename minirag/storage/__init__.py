"""The one file on disk: layout, commits, segments, the graph, the lock and the replies that are not committed yet."""
