-- Purpose: memory that the program does not use, in GiB-hours: retained, rounded up, reserved.
-- `how` says whether it is summed over time, or taken at the peak and counted for the whole time.
WITH known AS (
  SELECT p.job, p.process, p.duration FROM processes p
), figures AS (
  SELECT l.job, l.process, 'host' AS memory, 'retained by the allocator' AS waste, 'at the peak' AS how,
         SUM(l.bytes) AS bytes, SUM(l.bytes) * MAX(k.duration) AS byte_seconds
  FROM ledgers l JOIN known k ON k.job = l.job AND k.process = l.process
  WHERE l.scope = 'process' AND l.at = 'peak_rss'
    AND (l.name = 'kept by the allocator' OR l.name LIKE 'Python_s arenas, free')
  GROUP BY 1, 2
  UNION ALL
  SELECT b.job, b.process, CASE WHEN b.memory = 'host' THEN 'host' ELSE 'gpu' END, 'rounded up', 'at the peak',
         SUM(b.bytes - b.asked), SUM(b.bytes - b.asked) * MAX(k.duration)
  FROM peaks b JOIN known k ON k.job = b.job AND k.process = b.process
  WHERE b.asked IS NOT NULL AND b.bytes > b.asked
    AND b.measure = CASE WHEN b.memory = 'host' THEN 'live' ELSE 'tensor' END
  GROUP BY b.job, b.process, b.memory
  UNION ALL
  SELECT r.job, r.process, 'gpu', 'reserved by the allocator', 'over time', MAX(r.highest) - COALESCE(MAX(t.highest), 0),
         MAX(r.byte_seconds) - COALESCE(MAX(t.byte_seconds), 0)
  FROM usage r LEFT JOIN usage t ON t.job = r.job AND t.process = r.process AND t.memory = r.memory
                                AND t.measure = 'tensor'
  WHERE r.measure = 'reserved' GROUP BY r.job, r.process, r.memory
), used AS (
  SELECT u.job, CASE WHEN u.memory = 'host' THEN 'host' ELSE 'gpu' END AS memory, SUM(u.byte_seconds) AS byte_seconds
  FROM usage u WHERE u.measure = CASE WHEN u.memory = 'host' THEN 'rss' ELSE 'reserved' END GROUP BY 1, 2
)
SELECT f.job, f.memory, f.waste, f.how, COUNT(DISTINCT f.process) AS processes,
       CAST(MAX(f.bytes) AS BIGINT) AS highest_bytes, SUM(f.byte_seconds) / 3865470566400 AS wasted_gib_hours,
       MAX(u.byte_seconds) / 3865470566400 AS used_gib_hours
FROM figures f LEFT JOIN used u ON u.job = f.job AND u.memory = f.memory
WHERE f.byte_seconds > 0
GROUP BY 1, 2, 3, 4
ORDER BY f.job, f.memory, SUM(f.byte_seconds) DESC, f.waste
