#include "osbackend/sandbox_backend.h"

#include "codec/json.h"

namespace strake::osbackend {

namespace {

const std::string kRecordPath = "/var/lib/strake/sandbox-os.json";

json::Value to_json(const Deployment& deployment) {
  json::Array arguments;
  for (const std::string& argument : deployment.kernel_arguments) arguments.emplace_back(argument);
  return json::Object{{"image", deployment.image}, {"kernelArguments", std::move(arguments)}};
}

Deployment deployment_from(const json::Value& value) {
  Deployment deployment;
  deployment.image = json::find_string(value, {"image"}).value_or("");
  if (const json::Value* arguments = json::find(value, {"kernelArguments"});
      arguments != nullptr && arguments->is_array()) {
    for (const json::Value& argument : arguments->get_array()) {
      if (argument.is_string()) deployment.kernel_arguments.emplace_back(json::as_view(argument.get_string()));
    }
  }
  return deployment;
}

}  // namespace

Result<SandboxBackend::Record> SandboxBackend::load() {
  STRAKE_TRY_CONTEXT(const auto file, tree_.read(kRecordPath), "reading the sandbox OS record");
  Record record;
  if (file) {
    STRAKE_TRY_CONTEXT(const json::Value value, json::parse(file->contents), "{}", kRecordPath);
    if (const json::Value* booted = json::find(value, {"booted"})) record.os.booted = deployment_from(*booted);
    if (const json::Value* staged = json::find(value, {"staged"})) record.os.staged = deployment_from(*staged);
    record.boots = static_cast<std::uint64_t>(json::find_int(value, {"boots"}).value_or(0));
  }
  record.os.boot_id = fmt::format("boot-{}", record.boots);
  return record;
}

Status SandboxBackend::save(const Record& record) {
  json::Object value{{"booted", to_json(record.os.booted)}, {"boots", record.boots}};
  if (record.os.staged) value["staged"] = to_json(*record.os.staged);
  return tree_.write(kRecordPath, json::write_pretty(value), 0600, {}).context("writing the sandbox OS record");
}

Result<OsStatus> SandboxBackend::status() {
  STRAKE_TRY(Record record, load());
  return std::move(record.os);
}

Status SandboxBackend::stage(const Deployment& deployment) {
  STRAKE_TRY(Record record, load());
  const std::optional<Deployment> wanted = deployment == record.os.booted ? std::nullopt : std::optional(deployment);
  if (record.os.staged == wanted) return {};
  record.os.staged = wanted;
  return save(record);
}

Status SandboxBackend::reboot(const std::string&) { return {}; }

Status SandboxBackend::boot() {
  STRAKE_TRY(Record record, load());
  if (record.os.staged) record.os.booted = *std::exchange(record.os.staged, std::nullopt);
  ++record.boots;
  return save(record);
}

Result<std::uint64_t> SandboxBackend::boot_count() {
  STRAKE_TRY(const Record record, load());
  return record.boots;
}

}  // namespace strake::osbackend
