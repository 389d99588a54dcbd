// Libraries compiled from users' files, kept from run to run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/cache_folder.h"

namespace kernbench::cli {

/// A file and the hash of its bytes.
struct HashedFile {
  std::string path, content;
};

/// The hash of each file; nothing when one cannot be read.
std::optional<std::vector<HashedFile>> hashed(const std::vector<std::string>& files);

/// A folder of libraries. An entry is one file: the library, then the files that it was compiled from with the hashes
/// of their contents, then a hash of all that. It comes into being whole, by a rename, so that any number of processes
/// may use one cache; a damaged entry counts as none.
class CompileCache {
 public:
  explicit CompileCache(std::string folder, CacheLimits limits = {});

  const std::string& folder() const { return folder_; }
  /// Makes the folder. Returns an empty text, or why it cannot be written.
  std::string prepare() const;
  std::string path_of(const std::string& name) const { return folder_ + "/" + name + ".so"; }
  /// The files that the entry was compiled from, if it is whole and all of them are as they were; notes that it was
  /// used.
  std::optional<std::vector<HashedFile>> files_of(const std::string& path) const;
  bool holds(const std::string& path) const { return files_of(path).has_value(); }
  /// Makes the library `made` an entry that depends on `files`; it is moved to `path`. Returns false, and leaves it,
  /// when one of the files cannot be read or the library cannot be moved.
  bool store(const std::string& made, const std::string& path, const std::vector<std::string>& files) const;
  /// Drops what is too old or too much, but never `keep`. What cannot be removed stays.
  void trim(const std::string& keep) const;

 private:
  std::string folder_;
  CacheLimits limits_;
};

/// A new folder in `parent` that goes away, with all that is in it, when the object does.
class ScratchFolder {
 public:
  /// ConfigurationError when it cannot be made.
  explicit ScratchFolder(const std::string& parent);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

}  // namespace kernbench::cli
