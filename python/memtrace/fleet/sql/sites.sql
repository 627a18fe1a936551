-- Purpose: the lines of the program that hold most at the peaks of all processes together.
WITH lines AS (
  SELECT k.job, k.process, k.rank, CASE WHEN k.memory = 'host' THEN 'host' ELSE 'gpu' END AS memory, k.role,
         COALESCE(k.own_line, '(no line)') AS line, SUM(k.bytes - COALESCE(k.untouched, 0)) AS bytes
  FROM peaks k WHERE k.leads GROUP BY 1, 2, 3, 4, 5, 6
), ordered AS (
  SELECT l.*, ROW_NUMBER() OVER (PARTITION BY l.job, l.memory, l.role, l.line ORDER BY l.bytes DESC, l.rank) AS ordinal
  FROM lines l
), totals AS (
  SELECT l.job, l.memory, SUM(l.bytes) AS bytes FROM lines l GROUP BY 1, 2
), sites AS (
  SELECT o.job, o.memory, o.role, o.line, COUNT(*) AS processes, SUM(o.bytes) AS bytes, MAX(o.bytes) AS highest,
         MAX(CASE WHEN o.ordinal = 1 THEN o.rank END) AS highest_rank
  FROM ordered o GROUP BY 1, 2, 3, 4
)
SELECT s.job, s.memory, s.line, s.role, s.processes, CAST(s.bytes AS BIGINT) AS all_ranks_bytes,
       100.0 * CAST(s.bytes AS DOUBLE) / CAST(t.bytes AS DOUBLE) AS of_all_percent,
       CAST(s.highest AS BIGINT) AS highest_bytes, s.highest_rank
FROM sites s JOIN totals t ON t.job = s.job AND t.memory = s.memory
WHERE s.bytes > 0
ORDER BY s.job, s.bytes DESC, s.memory, s.line, s.role
