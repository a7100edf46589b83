"""Sums of calls by minute, hour and day, so that pages need to add up few raw rows.

storage.store() ──► calls + StaleBucket marks, in one transaction
builder.build_stale() ──► Rollup rows of each marked minute, of ended hours and days
coverage.cover() ──► the rollups and the raw rows that together cover a span, so that every figure is exact
"""
