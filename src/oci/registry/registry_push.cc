#include "oci/registry/registry_auth.h"
#include "oci/registry/registry_client.h"

namespace strake::oci {

namespace {

constexpr std::size_t kSmallestChunkBytes = 64u << 10;
constexpr std::size_t kLargestChunkBytes = 256u << 20;

}  // namespace

std::string_view to_string(BlobPush outcome) {
  switch (outcome) {
    case BlobPush::kPresent: return "present";
    case BlobPush::kMounted: return "mounted";
    case BlobPush::kUploaded: return "uploaded";
  }
  return "unknown";
}

/// An upload session: where its next bytes go, and how many the registry has.
struct RegistryClient::Upload {
  Scope scope;
  net::Url location;
  std::uint64_t offset = 0;
  std::size_t chunk_bytes = 0;
  bool mounted = false;

  Status follow(const net::Response& answer) {
    const auto next = answer.headers.get("Location");
    if (!next) return error(Code::kCorrupt, "the registry names no Location for the upload");
    STRAKE_TRY_CONTEXT(location, net::resolve(location, *next), "the Location of the upload");
    return {};
  }
};

Result<bool> RegistryClient::has_blob(const std::string& repository, const Descriptor& descriptor,
                                      const runtime::Call& call) {
  net::Request request;
  request.method = "HEAD";
  STRAKE_TRY(request.url, url(repository, "blobs", descriptor.digest.to_string(), call));
  // The same leave as the upload that may follow: one token for both.
  STRAKE_TRY(const net::Response answer, send_retrying(request, Scope{repository, true}, call));
  if (answer.status == 404) return false;
  if (answer.status != 200) {
    return answer_error(answer).context(
        fmt::format("asking {}/{} for blob {}", registry_, repository, descriptor.digest.to_string()));
  }
  return true;
}

Result<RegistryClient::Upload> RegistryClient::start_upload(const std::string& repository, const Descriptor& descriptor,
                                                            const std::string& mount_from, const runtime::Call& call) {
  STRAKE_TRY(const std::string text, url(repository, "blobs", "uploads/", call));
  STRAKE_TRY(net::Url target, net::parse_url(text));
  Upload upload;
  upload.scope = Scope{repository, true, mount_from};
  upload.location = target;
  if (!mount_from.empty()) {
    target.add_query("mount", descriptor.digest.to_string());
    target.add_query("from", mount_from);
  }
  net::Request request;
  request.method = "POST";
  request.url = target.to_string();
  STRAKE_TRY(const net::Response answer, send_retrying(request, upload.scope, call));
  upload.mounted = answer.status == 201 && !mount_from.empty();
  if (upload.mounted) return upload;
  if (answer.status != 202) return answer_error(answer);
  STRAKE_CHECK_OK(upload.follow(answer));
  const auto smallest = parse_decimal(answer.headers.get("OCI-Chunk-Min-Length").value_or("0"));
  upload.chunk_bytes = std::max(options_.upload_chunk_bytes, kSmallestChunkBytes);
  if (smallest && *smallest > upload.chunk_bytes) {
    if (*smallest > kLargestChunkBytes) {
      return error(Code::kUnsupported, "the registry wants chunks of {} bytes; at most {} are sent", *smallest,
                   kLargestChunkBytes);
    }
    upload.chunk_bytes = static_cast<std::size_t>(*smallest);
  }
  return upload;
}

/// After a broken connection the registry is asked how much of the chunk it has.
Status RegistryClient::upload_chunk(Upload& upload, std::string_view chunk, const runtime::Call& call) {
  const std::uint64_t start = upload.offset;
  bool unsure = false;
  const auto attempt = [&]() -> Status {
    if (unsure) {
      net::Request status;
      status.url = upload.location.to_string();
      STRAKE_TRY(const net::Response answer, send(status, upload.scope, call));
      if (answer.status != 204) return answer_error(answer);
      const auto held = parse_upload_range(answer.headers.get("Range").value_or("0-0"));
      if (!held || *held < start || *held > start + chunk.size()) {
        return error(Code::kCorrupt, "the registry lost track of the upload; push again");
      }
      upload.offset = *held;
      if (answer.headers.has("Location")) STRAKE_CHECK_OK(upload.follow(answer));
    }
    unsure = true;
    const std::string_view rest = chunk.substr(static_cast<std::size_t>(upload.offset - start));
    if (rest.empty()) return {};
    net::Request request;
    request.method = "PATCH";
    request.url = upload.location.to_string();
    request.headers.add("Content-Type", "application/octet-stream");
    request.headers.add("Content-Range", fmt::format("{}-{}", upload.offset, upload.offset + rest.size() - 1));
    request.body = rest;
    STRAKE_TRY(const net::Response answer, send(std::move(request), upload.scope, call, rest.size()));
    if (answer.status != 202) return answer_error(answer);
    upload.offset += rest.size();
    return upload.follow(answer);
  };
  return retry(attempt, [&] { return false; }, call);
}

Status RegistryClient::finish_upload(Upload& upload, const Descriptor& descriptor, std::string chunk,
                                     const runtime::Call& call) {
  net::Request request;
  request.method = "PUT";
  net::Url target = upload.location;
  target.add_query("digest", descriptor.digest.to_string());
  request.url = target.to_string();
  request.headers.add("Content-Type", "application/octet-stream");
  request.body = std::move(chunk);
  STRAKE_TRY(const net::Response answer, send(std::move(request), upload.scope, call, descriptor.size));
  if (answer.status != 201) return answer_error(answer);
  return {};
}

/// What fits into one chunk goes with the request that ends the upload.
Status RegistryClient::upload(Upload& upload, const Descriptor& descriptor, codec::Source& content,
                              const runtime::Call& call) {
  const std::string item = fmt::format("{} to {}", descriptor.digest.to_string(), registry_);
  std::string chunk;
  for (;;) {
    const std::uint64_t left = descriptor.size - upload.offset;
    chunk.resize(static_cast<std::size_t>(std::min<std::uint64_t>(left, upload.chunk_bytes)));
    STRAKE_TRY(const std::size_t got, codec::read_full(content, std::as_writable_bytes(std::span(chunk))));
    if (got < chunk.size()) return error(Code::kCorrupt, "the blob ends {} bytes early", chunk.size() - got);
    if (chunk.size() == left) {
      // The read that meets the end is the one that checks the digest.
      std::byte beyond{};
      STRAKE_TRY(const std::size_t more, content.read(std::span(&beyond, 1)));
      if (more > 0) return error(Code::kCorrupt, "the blob is longer than its descriptor says");
      if (upload.offset == 0) {
        STRAKE_CHECK_OK(finish_upload(upload, descriptor, std::move(chunk), call));
        options_.hooks.bytes(item, descriptor.size, descriptor.size);
        return {};
      }
    }
    STRAKE_CHECK_OK(upload_chunk(upload, chunk, call));
    options_.hooks.bytes(item, upload.offset, descriptor.size);
    if (upload.offset == descriptor.size) return finish_upload(upload, descriptor, {}, call);
  }
}

Result<BlobPush> RegistryClient::push_blob(const std::string& repository, const Descriptor& descriptor,
                                           const OpenBlob& open, const std::string& mount_from,
                                           const runtime::Call& call) {
  const auto push = [&]() -> Result<BlobPush> {
    STRAKE_TRY(const bool present, has_blob(repository, descriptor, call));
    if (present) return BlobPush::kPresent;
    BlobPush outcome = BlobPush::kUploaded;
    const auto attempt = [&]() -> Status {
      STRAKE_TRY(Upload session, start_upload(repository, descriptor, mount_from, call));
      if (session.mounted) {
        outcome = BlobPush::kMounted;
        return {};
      }
      STRAKE_TRY(const std::unique_ptr<codec::Source> content, open());
      return upload(session, descriptor, *content, call);
    };
    STRAKE_CHECK_OK(retry(attempt, [] { return false; }, call));
    return outcome;
  };
  return push().context("pushing blob {} to {}/{}", descriptor.digest.to_string(), registry_, repository);
}

Status RegistryClient::push_manifest(const std::string& repository, const std::string& tag_or_digest,
                                     std::string_view type, std::string_view bytes, const runtime::Call& call) {
  const auto push = [&]() -> Status {
    net::Request request;
    request.method = "PUT";
    STRAKE_TRY(request.url, url(repository, "manifests", tag_or_digest, call));
    request.headers.add("Content-Type", std::string(type));
    request.body = bytes;
    STRAKE_TRY(const net::Response answer, send_retrying(request, Scope{repository, true}, call));
    if (answer.status != 201) return answer_error(answer);
    return {};
  };
  return push().context("pushing manifest {}/{} {}", registry_, repository, tag_or_digest);
}

}  // namespace strake::oci
