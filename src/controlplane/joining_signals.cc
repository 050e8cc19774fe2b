#include "base/time.h"
#include "controlplane/signals.h"

namespace strake::controlplane {

namespace {

double seconds_since_1970(std::chrono::sys_seconds time) {
  return static_cast<double>(time.time_since_epoch().count());
}

}  // namespace

void Signals::joining_stands(const stub::IdentityReport& report) {
  const bool ready = report.configured && report.problems.empty();
  metrics_
      .gauge("strake_joining_ready", "1 while the config server's certificate and the stubs of all pools are in order.")
      .set(ready ? 1 : 0);
  metrics_.gauge("strake_joining_problems", "What somebody has to decide before new machines can join.")
      .set(static_cast<double>(report.problems.size()));
  metrics_.gauge("strake_joining_stubs", "Stubs that Strake keeps, one for each pool.")
      .set(static_cast<double>(report.stubs));
  if (report.signer_ends) {
    metrics_
        .gauge("strake_joining_authority_expires_seconds",
               "When the config server's authority ends, in seconds since 1970.")
        .set(seconds_since_1970(*report.signer_ends));
  }
  if (report.serving_ends) {
    metrics_
        .gauge("strake_joining_certificate_expires_seconds",
               "When the certificate kept for the config server ends, in seconds since 1970.")
        .set(seconds_since_1970(*report.serving_ends));
  }
  if (report.rotation_due) {
    metrics_
        .gauge("strake_joining_rotation_due_seconds",
               "When the config server's authority is to be replaced, in seconds since 1970.")
        .set(seconds_since_1970(*report.rotation_due));
  }
  for (const stub::RotationStage stage : stub::kRotationStages) {
    if (stage == stub::RotationStage::kNone) continue;
    metrics_
        .gauge("strake_joining_rotation", "1 for the stage of a rotation that is under way.",
               {{"stage", std::string(stub::to_string(stage))}})
        .set(report.rotation == stage ? 1 : 0);
  }
  for (const std::string& problem : report.problems) {
    log_.warning("new machines may not be able to join", {{"problem", problem}});
  }
  if (!report.configured && report.problems.empty()) {
    log_.info("no stubs and no certificate for the config server are kept", {{"advice", stub::kNotConfiguredWords}});
  }
  if (!ready) return;
  if (report.rotation != stub::RotationStage::kNone) {
    log_.info("the config server's authority is being replaced",
              {{"stage", stub::to_string(report.rotation)}, {"waits_for", report.waits_for}});
    return;
  }
  log::Fields fields{{"stubs", report.stubs}};
  if (report.serving_ends) fields.emplace_back("certificate_ends", format_rfc3339(*report.serving_ends));
  if (report.signer_ends) fields.emplace_back("authority_ends", format_rfc3339(*report.signer_ends));
  log_.info("the config server's certificate and the stubs of all pools are in order", fields);
}

void Signals::joining_changed(stub::IdentityStep step, const std::string& what) {
  metrics_
      .counter("strake_joining_writes_total", "What was written so that machines can join, by step.",
               {{"step", std::string(stub::to_string(step))}})
      .add();
  log_.info("so that new machines can join", {{"done", what}});
}

}  // namespace strake::controlplane
