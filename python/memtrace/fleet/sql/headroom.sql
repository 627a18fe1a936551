-- Purpose: what the limits of a job allowed, and what it needed at most, in GiB-hours.
-- The limits are the smallest one of each host (of a cgroup, or its memory), and the memory of each GPU.
WITH spans AS (
  SELECT p.job, p.host, p.process, MIN(p.start_unix) OVER (PARTITION BY p.job, p.host) AS first_start,
         MAX(p.start_unix + p.duration) OVER (PARTITION BY p.job, p.host) AS last_end
  FROM processes p
), limits AS (
  SELECT h.job, s.host, h.limit_of, CASE WHEN h.limit_of = 'device' THEN h.process || ' ' || h.name ELSE h.name END AS name,
         MAX(s.last_end - s.first_start) AS seconds, MIN(h.limit_bytes) AS limit_bytes,
         MAX(COALESCE(h.needed_bytes, h.used_bytes)) AS needed
  FROM headroom h JOIN spans s ON s.job = h.job AND s.process = h.process
  WHERE h.limit_of IN ('cgroup', 'node', 'device') GROUP BY 1, 2, 3, 4
), ordered AS (
  SELECT l.*, ROW_NUMBER() OVER (PARTITION BY l.job, l.host, CASE WHEN l.limit_of = 'device' THEN l.name ELSE 'host' END
                                 ORDER BY l.limit_bytes, l.limit_of, l.name) AS place
  FROM limits l
), counted AS (
  SELECT o.job, o.host, CASE WHEN o.limit_of = 'device' THEN 'gpu' ELSE 'host' END AS memory, o.limit_bytes,
         LEAST(o.needed, o.limit_bytes) AS needed, o.seconds
  FROM ordered o WHERE o.place = 1
), tightest AS (
  SELECT c.*, ROW_NUMBER() OVER (PARTITION BY c.job, c.memory ORDER BY c.limit_bytes - c.needed, c.host) AS place
  FROM counted c
)
SELECT t.job, t.memory, COUNT(*) AS limits, SUM(t.limit_bytes * t.seconds) / 3865470566400 AS allowed_gib_hours,
       SUM(t.needed * t.seconds) / 3865470566400 AS needed_gib_hours,
       SUM((t.limit_bytes - t.needed) * t.seconds) / 3865470566400 AS headroom_gib_hours,
       CAST(MIN(t.limit_bytes - t.needed) AS BIGINT) AS least_free_bytes,
       MAX(CASE WHEN t.place = 1 THEN t.host END) AS on_host
FROM tightest t GROUP BY 1, 2 ORDER BY t.job, t.memory
