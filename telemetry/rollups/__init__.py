"""Sums of calls by minute, hour and day, so that no page adds up raw rows.

storage.store() ──► calls + StaleBucket marks, in one transaction
builder.build_stale() ──► Rollup rows of each marked minute, of ended hours and days
coverage.cover() ──► which rollups and which raw rows answer for a span, so that every figure is exact
"""
