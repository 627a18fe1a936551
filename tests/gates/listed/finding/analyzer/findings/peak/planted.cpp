// Purpose: a planted fault: a finding that no page describes.
void find() {
  finding.id = "never-freed";
}
