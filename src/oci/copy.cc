#include "oci/copy.h"

#include <set>

#include "oci/parallel.h"

namespace strake::oci {

namespace {

constexpr std::size_t kMaxDocuments = 4096;
constexpr std::size_t kMaxBlobs = 100'000;
constexpr int kMaxDocumentDepth = 4;

struct Document {
  Descriptor descriptor;
  std::string bytes;
};

/// What has to be brought over: blobs in any order, then documents from first to last.
struct CopyPlan {
  std::vector<Descriptor> blobs;
  std::vector<Document> documents;
  std::set<codec::Digest> seen;

  Status add_blob(const Descriptor& descriptor) {
    if (!seen.insert(descriptor.digest).second) return {};
    if (blobs.size() == kMaxBlobs) return error(Code::kExhausted, "the image has more than {} blobs", kMaxBlobs);
    blobs.push_back(descriptor);
    return {};
  }
};

Status collect(const ImageSource& from, const Descriptor& descriptor, int depth, CopyPlan& plan,
               const runtime::Call& call) {
  if (!plan.seen.insert(descriptor.digest).second) return {};
  if (depth > kMaxDocumentDepth || plan.documents.size() >= kMaxDocuments) {
    return error(Code::kExhausted, "the image is nested in more than {} levels or has more than {} manifests",
                 kMaxDocumentDepth, kMaxDocuments);
  }
  STRAKE_TRY_CONTEXT(std::string bytes, from.read_blob(descriptor, kMaxManifestBytes, call), "reading manifest {}",
                     descriptor.digest.to_string());
  STRAKE_TRY_CONTEXT(const auto document, parse_document(bytes, descriptor.media_type), "manifest {}",
                     descriptor.digest.to_string());
  if (const Index* index = std::get_if<Index>(&document)) {
    for (const Descriptor& child : index->manifests) STRAKE_CHECK_OK(collect(from, child, depth + 1, plan, call));
  } else {
    const Manifest& manifest = std::get<Manifest>(document);
    STRAKE_CHECK_OK(plan.add_blob(manifest.config));
    for (const Descriptor& layer : manifest.layers) STRAKE_CHECK_OK(plan.add_blob(layer));
  }
  plan.documents.push_back({descriptor, std::move(bytes)});
  return {};
}

}  // namespace

Result<CopyReport> copy_entry(const ImageSource& from, Descriptor entry, ImageTarget& to, std::string_view tag,
                              unsigned parallel, runtime::Runtime& runtime, const runtime::Call& call) {
  CopyPlan plan;
  STRAKE_CHECK_OK(collect(from, entry, 0, plan, call));
  CopyReport report{std::move(entry)};
  std::mutex mutex;
  STRAKE_CHECK_OK(for_each_in_parallel(
      runtime, parallel, plan.blobs.size(), call, [&](std::size_t i, const runtime::Call& own) -> Status {
        STRAKE_TRY_CONTEXT(const BlobOutcome outcome, to.put_blob(from, plan.blobs[i], own), "blob {}",
                           plan.blobs[i].digest.to_string());
        const std::scoped_lock lock(mutex);
        switch (outcome) {
          case BlobOutcome::kPresent: ++report.blobs_present; break;
          case BlobOutcome::kMounted: ++report.blobs_mounted; break;
          case BlobOutcome::kWritten:
            ++report.blobs_written;
            report.bytes_written += plan.blobs[i].size;
            break;
        }
        return {};
      }));
  for (std::size_t i = 0; i < plan.documents.size(); ++i) {
    const Document& document = plan.documents[i];
    const bool is_root = i + 1 == plan.documents.size();
    STRAKE_CHECK_OK(to.put_document(document.descriptor, document.bytes, is_root ? tag : "", call));
  }
  return report;
}

Result<CopyReport> copy_image(const ImageSource& from, std::string_view reference, ImageTarget& to,
                              std::string_view tag, const CopyOptions& options, runtime::Runtime& runtime,
                              const runtime::Call& call) {
  const auto copy = [&]() -> Result<CopyReport> {
    STRAKE_TRY(Descriptor root,
               options.platform ? from.resolve(reference, *options.platform, call) : from.find_entry(reference, call));
    return copy_entry(from, std::move(root), to, tag, options.parallel, runtime, call);
  };
  return copy().context("copying '{}' from {} to {}", reference, from.description(), to.description());
}

}  // namespace strake::oci
