#include "osbackend/sandbox_backend.h"

#include "codec/json.h"
#include "osbackend/json_texts.h"

namespace strake::osbackend {

namespace {

const std::string kRecordPath = "/var/lib/strake/sandbox-os.json";

/// A sandbox can do what a record can tell. There is one kernel, and no packages to layer.
Capabilities sandbox_capabilities() { return {.image = true, .kernel_arguments = true}; }

/// What stands on a real machine's command line whoever manages it.
std::vector<std::string> sandbox_machine_arguments() { return {"root=/dev/sandbox", "rw"}; }

json::Value to_json(const Deployment& deployment) {
  json::Object value{{"image", deployment.image ? json::Value(deployment.image->to_string()) : json::Value("")},
                     {"kernelArguments", json_of_texts(deployment.kernel_arguments)},
                     {"machineArguments", json_of_texts(deployment.machine_arguments)}};
  return value;
}

Result<Deployment> deployment_from(const json::Value& value) {
  Deployment deployment;
  const auto image = json::find_string(value, {"image"});
  if (!image) return error(Code::kCorrupt, "image: missing");
  if (!image->empty()) {
    STRAKE_TRY_CONTEXT(deployment.image, ImageReference::parse(*image), "image");
  }
  STRAKE_TRY(deployment.kernel_arguments, texts_of(value, "kernelArguments"));
  STRAKE_TRY(deployment.machine_arguments, texts_of(value, "machineArguments"));
  return deployment;
}

Result<std::optional<Deployment>> optional_deployment(const json::Value& record, std::string_view name) {
  const json::Value* value = json::find(record, {name});
  if (value == nullptr) return std::optional<Deployment>();
  STRAKE_TRY_CONTEXT(Deployment deployment, deployment_from(*value), "{}", name);
  return std::optional(std::move(deployment));
}

Status read_record(const json::Value& value, OsStatus& os, std::uint64_t& boots) {
  STRAKE_TRY(std::optional<Deployment> booted, optional_deployment(value, "booted"));
  const auto count = json::find_int(value, {"boots"});
  if (!booted || !count || *count < 0) return error(Code::kCorrupt, "booted or boots: missing");
  os.booted = *std::move(booted);
  boots = static_cast<std::uint64_t>(*count);
  STRAKE_TRY(os.staged, optional_deployment(value, "staged"));
  STRAKE_TRY(os.rollback, optional_deployment(value, "rollback"));
  return {};
}

}  // namespace

Result<SandboxBackend::Record> SandboxBackend::load() {
  STRAKE_TRY_CONTEXT(const auto file, tree_.read(kRecordPath), "reading the sandbox OS record");
  Record record;
  record.os.booted.machine_arguments = sandbox_machine_arguments();
  if (file) {
    const auto value = json::parse(file->contents);
    const Status read = value.ok() ? read_record(*value, record.os, record.boots) : Status(value.error());
    if (!read.ok()) {
      return error(Code::kCorrupt,
                   "the OS record {} of this sandboxed machine is damaged ({}); put it back, or delete the machine's "
                   "folder to have it installed anew",
                   kRecordPath, read.error().to_string());
    }
  }
  record.os.boot_id = fmt::format("boot-{}", record.boots);
  record.os.capabilities = sandbox_capabilities();
  return record;
}

Status SandboxBackend::save(const Record& record) {
  json::Object value{{"booted", to_json(record.os.booted)}, {"boots", record.boots}};
  if (record.os.staged) value["staged"] = to_json(*record.os.staged);
  if (record.os.rollback) value["rollback"] = to_json(*record.os.rollback);
  return tree_.write(kRecordPath, json::write_pretty(value), 0600, {})
      .context("writing the sandbox OS record {}", kRecordPath);
}

Result<OsStatus> SandboxBackend::status(const runtime::Call&) {
  STRAKE_TRY(Record record, load());
  return std::move(record.os);
}

Status SandboxBackend::stage(const OsTarget& target, const ProgressSink& progress, const runtime::Call& call) {
  if (target.kernel_type != KernelType::kDefault || !target.extensions.empty())
    return error(Code::kUnsupported, "a sandboxed machine has one kernel and no extensions");
  STRAKE_TRY(Record record, load());
  std::optional<Deployment> wanted = record.os.booted;
  if (target.image) wanted->image = target.image;
  wanted->kernel_arguments = target.kernel_arguments;
  if (differences(record.os.booted, target).empty()) wanted.reset();
  if (record.os.staged == wanted) return {};
  if (call.stop.stop_requested()) return error(Code::kCancelled, "staging was stopped before it began");
  if (progress) progress({"staging", 0, 1});
  record.os.staged = std::move(wanted);
  STRAKE_CHECK_OK(save(record));
  if (progress) progress({"staging", 1, 1});
  return {};
}

Status SandboxBackend::drop_staged(const runtime::Call&) {
  STRAKE_TRY(Record record, load());
  if (!record.os.staged) return {};
  record.os.staged.reset();
  return save(record);
}

Status SandboxBackend::reboot(const std::string&, const runtime::Call&) { return {}; }

Status SandboxBackend::boot(BootEnd end) {
  STRAKE_TRY(Record record, load());
  if (std::optional<Deployment> staged = std::exchange(record.os.staged, std::nullopt)) {
    if (end == BootEnd::kAsStaged) std::swap(record.os.booted, *staged);
    record.os.rollback = std::move(staged);
  }
  ++record.boots;
  return save(record);
}

Result<std::uint64_t> SandboxBackend::boot_count() {
  STRAKE_TRY(const Record record, load());
  return record.boots;
}

}  // namespace strake::osbackend
