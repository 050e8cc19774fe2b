// Owners of what GLib and libostree hand out. Private to this folder.
#pragma once

#include <ostree.h>

#include <memory>
#include <stop_token>
#include <string>

#include "base/result.h"

namespace strake::sysroot {

struct ObjectUnref {
  void operator()(gpointer object) const { g_object_unref(object); }
};
template <typename T>
using ObjectHandle = std::unique_ptr<T, ObjectUnref>;

struct ArrayUnref {
  void operator()(GPtrArray* array) const { g_ptr_array_unref(array); }
};
using ArrayHandle = std::unique_ptr<GPtrArray, ArrayUnref>;

struct KeyFileFree {
  void operator()(GKeyFile* file) const { g_key_file_unref(file); }
};
using KeyFileHandle = std::unique_ptr<GKeyFile, KeyFileFree>;

struct TextFree {
  void operator()(char* text) const { g_free(text); }
};
using TextHandle = std::unique_ptr<char, TextFree>;

/// An error to be filled in by a call.
class GlibError {
 public:
  GlibError() = default;
  GlibError(const GlibError&) = delete;
  GlibError& operator=(const GlibError&) = delete;
  ~GlibError() { g_clear_error(&error_); }

  GError** out() { return &error_; }
  /// As ours, with what was being done.
  Error take(const std::string& doing);

 private:
  GError* error_ = nullptr;
};

/// Ends libostree's work when a token asks for it.
class Cancellable {
 public:
  explicit Cancellable(const std::stop_token& stop)
      : handle_(g_cancellable_new()), callback_(stop, Cancel{handle_.get()}) {}
  GCancellable* get() const { return handle_.get(); }

 private:
  struct Cancel {
    GCancellable* cancellable;
    void operator()() const { g_cancellable_cancel(cancellable); }
  };
  ObjectHandle<GCancellable> handle_;
  std::stop_callback<Cancel> callback_;
};

}  // namespace strake::sysroot
