-- Purpose: ranks that hold more or less at their peak than their pipeline stage, by line.
-- A rank is apart by 64 MiB, by a tenth of the median, and by six times the median distance of its stage.
WITH held AS (
  SELECT k.job, k.process, k.memory, CASE WHEN k.memory = 'host' THEN 'host' ELSE 'gpu' END AS device,
         SUM(k.bytes - COALESCE(k.untouched, 0)) AS bytes
  FROM peaks k
  WHERE k.measure = CASE WHEN k.memory = 'host' THEN 'live' ELSE 'tensor' END
  GROUP BY 1, 2, 3, 4
), numbered AS (
  SELECT h.*, ROW_NUMBER() OVER (PARTITION BY h.job, h.process, h.device ORDER BY h.bytes DESC, h.memory) AS ordinal
  FROM held h
), placed AS (
  SELECT n.job, n.process, n.memory, n.device, n.bytes, p.rank, p.host, COALESCE(p.pp, -1) AS stage,
         CONCAT_WS(' ', 'pp' || CAST(p.pp AS STRING), 'tp' || CAST(p.tp AS STRING), 'dp' || CAST(p.dp AS STRING),
                   'ep' || CAST(p.ep AS STRING)) AS place
  FROM numbered n JOIN ranks p ON p.job = n.job AND p.process = n.process
  WHERE n.ordinal = 1 AND p.rank IS NOT NULL
), stages AS (
  SELECT r.job, r.device, r.stage, COUNT(*) AS ranks,
         CASE WHEN COUNT(*) = 2 THEN MIN(r.bytes) ELSE MEDIAN(r.bytes) END AS typical
  FROM placed r GROUP BY 1, 2, 3
), spreads AS (
  SELECT r.job, r.device, r.stage, s.ranks, s.typical,
         CASE WHEN s.ranks = 2 THEN 0 ELSE MEDIAN(ABS(r.bytes - s.typical)) END AS distance
  FROM placed r JOIN stages s ON s.job = r.job AND s.device = r.device AND s.stage = r.stage
  GROUP BY 1, 2, 3, 4, 5
), outliers AS (
  SELECT r.*, s.ranks, s.typical
  FROM placed r JOIN spreads s ON s.job = r.job AND s.device = r.device AND s.stage = r.stage
  WHERE ABS(r.bytes - s.typical) >= 67108864 AND ABS(r.bytes - s.typical) >= s.typical / 10
    AND ABS(r.bytes - s.typical) >= 6 * s.distance
), compared AS (
  SELECT DISTINCT o.job, o.device, o.stage, o.ranks FROM outliers o
), lines AS (
  SELECT r.job, r.process, r.device, r.stage, c.ranks, k.role, COALESCE(k.own_line, '(no line)') AS line,
         SUM(k.bytes - COALESCE(k.untouched, 0)) AS bytes
  FROM peaks k
  JOIN placed r ON r.job = k.job AND r.process = k.process AND r.memory = k.memory
  JOIN compared c ON c.job = r.job AND c.device = r.device AND c.stage = r.stage
  WHERE k.measure = CASE WHEN k.memory = 'host' THEN 'live' ELSE 'tensor' END
  GROUP BY 1, 2, 3, 4, 5, 6, 7
), typical_lines AS (
  SELECT l.job, l.device, l.stage, l.role, l.line,
         CASE WHEN COUNT(*) * 2 <= MAX(l.ranks) THEN 0 WHEN MAX(l.ranks) = 2 THEN MIN(l.bytes)
              ELSE MEDIAN(l.bytes) END AS bytes
  FROM lines l GROUP BY 1, 2, 3, 4, 5
), differences AS (
  SELECT o.job, o.process, o.device, t.role, t.line, COALESCE(l.bytes, 0) - t.bytes AS difference,
         ROW_NUMBER() OVER (PARTITION BY o.job, o.process, o.device
                            ORDER BY ABS(COALESCE(l.bytes, 0) - t.bytes) DESC, t.role, t.line) AS ordinal
  FROM outliers o
  JOIN typical_lines t ON t.job = o.job AND t.device = o.device AND t.stage = o.stage
  LEFT JOIN lines l ON l.job = o.job AND l.process = o.process AND l.device = o.device AND l.role = t.role
                   AND l.line = t.line
)
SELECT o.job, o.rank, o.place, o.host, o.memory, CAST(o.bytes AS BIGINT) AS held_bytes,
       CAST(FLOOR(o.bytes - o.typical) AS BIGINT) AS more_bytes, d.role, d.line, CAST(FLOOR(d.difference) AS BIGINT) AS of_line_bytes
FROM outliers o
LEFT JOIN differences d ON d.job = o.job AND d.process = o.process AND d.device = o.device AND d.ordinal = 1
ORDER BY o.job, ABS(o.bytes - o.typical) DESC, o.rank, o.memory
