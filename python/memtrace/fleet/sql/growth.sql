-- Purpose: what grows while a job runs, in bytes a day: of the job, of a coordinate, or of a rank.
-- The time from a half to nine tenths of a process is divided into eight parts. A process grows if the lowest level of
-- each part is higher than that of the part before it, the last one by 256 KiB than the first one, and no part adds half.
WITH parts AS (
  SELECT s.job, s.process, s.memory, p.duration * 0.4 / 8 AS width,
         CAST(FLOOR((s.t - p.duration * 0.5) / (p.duration * 0.4 / 8)) AS BIGINT) AS part, s.bytes
  FROM samples s JOIN ranks p ON p.job = s.job AND p.process = s.process
  WHERE s.measure = 'live' AND p.duration > 0
    AND s.t >= p.duration * 0.5 AND s.t < p.duration * 0.9
), floors AS (
  SELECT t.job, t.process, t.memory, t.width, t.part, MIN(t.bytes) AS lowest FROM parts t GROUP BY 1, 2, 3, 4, 5
), steps AS (
  SELECT f.*, f.lowest - LAG(f.lowest) OVER (PARTITION BY f.job, f.process, f.memory ORDER BY f.part) AS rise
  FROM floors f
), courses AS (
  SELECT s.job, s.process, CASE WHEN s.memory = 'host' THEN 'host' ELSE 'gpu' END AS memory,
         CASE WHEN COUNT(*) >= 6 AND MIN(s.rise) > 0 AND MAX(s.lowest) - MIN(s.lowest) >= 262144
                   AND MAX(s.rise) * 2 <= MAX(s.lowest) - MIN(s.lowest)
              THEN (MAX(s.lowest) - MIN(s.lowest)) / (MAX(s.width) * (MAX(s.part) - MIN(s.part))) * 86400
              ELSE 0 END AS a_day,
         MAX(s.width) * 8 / 3600 AS hours
  FROM steps s GROUP BY s.job, s.process, s.memory
), rates AS (
  SELECT c.job, c.memory, p.rank, p.process, p.pp, p.tp, p.dp, p.ep, MAX(c.a_day) AS a_day, MAX(c.hours) AS hours
  FROM courses c JOIN ranks p ON p.job = c.job AND p.process = c.process
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
), placed AS (
  SELECT r.*, a.axis,
         CASE a.axis WHEN 'pp' THEN r.pp WHEN 'tp' THEN r.tp WHEN 'dp' THEN r.dp WHEN 'ep' THEN r.ep END AS coordinate
  FROM rates r CROSS JOIN (VALUES ('job'), ('pp'), ('tp'), ('dp'), ('ep')) AS a(axis)
), grouped AS (
  SELECT d.job, d.memory, d.axis, COALESCE(d.coordinate, -1) AS coordinate, COUNT(*) AS ranks,
         SUM(CASE WHEN d.a_day > 0 THEN 1 ELSE 0 END) AS growing, MEDIAN(d.a_day) AS typical, MAX(d.a_day) AS most,
         MAX(d.hours) AS hours
  FROM placed d WHERE d.axis = 'job' OR d.coordinate IS NOT NULL GROUP BY 1, 2, 3, 4
), totals AS (
  SELECT g.job, g.memory, g.ranks, g.growing * 2 > g.ranks AS grows FROM grouped g WHERE g.axis = 'job'
), leaking AS (
  SELECT g.* FROM grouped g JOIN totals t ON t.job = g.job AND t.memory = g.memory
  WHERE g.growing * 2 > g.ranks AND (g.axis = 'job' OR (NOT t.grows AND g.ranks > 1 AND g.ranks < t.ranks))
), explained AS (
  SELECT DISTINCT d.job, d.memory, d.process
  FROM placed d JOIN leaking l ON l.job = d.job AND l.memory = d.memory AND l.axis = d.axis
                              AND l.coordinate = COALESCE(d.coordinate, -1)
), alone AS (
  SELECT r.* FROM rates r
  LEFT JOIN explained e ON e.job = r.job AND e.memory = r.memory AND e.process = r.process
  WHERE r.a_day > 0 AND e.process IS NULL
), found AS (
  SELECT l.job, l.memory,
         CASE WHEN l.axis = 'job' THEN 'the job' ELSE l.axis || ' ' || CAST(l.coordinate AS STRING) END AS grows,
         l.ranks, l.growing, l.typical, l.most, l.hours
  FROM leaking l
  UNION ALL
  SELECT a.job, a.memory, COALESCE('rank ' || CAST(a.rank AS STRING), a.process), 1, 1, a.a_day, a.a_day, a.hours
  FROM alone a
)
SELECT f.job, f.memory, f.grows, CAST(f.ranks AS BIGINT) AS ranks, CAST(f.growing AS BIGINT) AS growing,
       CAST(FLOOR(f.typical) AS BIGINT) AS median_a_day_bytes, CAST(FLOOR(f.most) AS BIGINT) AS most_a_day_bytes,
       f.hours AS seen_hours
FROM found f ORDER BY f.job, f.memory, f.ranks DESC, f.typical DESC, f.grows
