// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "naming/endpoint_text.hpp"
#include "naming/first_turn.hpp"
#include "naming/long_answers.hpp"
#include "naming/name_source.hpp"
#include "weft/detail/base/descriptor.hpp"
#include "weft/detail/base/saturated.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/limits/backoff.hpp"
#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

namespace {

Result<std::string> read_all(const std::string& path, std::size_t bytes_max) {
  // Without O_NONBLOCK a pipe in the file's place would block the loop.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!file) return errno_status(Layer::kRuntime, "open " + path, errno);
  struct stat facts{};
  if (::fstat(file.get(), &facts) != 0) return errno_status(Layer::kRuntime, "stat " + path, errno);
  if (!S_ISREG(facts.st_mode)) {
    return Status{StatusCode::kFailedPrecondition, Layer::kRuntime,
                  path + " is no regular file; put one there"};
  }
  std::string text;
  char block[65536];
  for (;;) {
    const ssize_t got = ::read(file.get(), block, sizeof block);
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_status(Layer::kRuntime, "read " + path, errno);
    text.append(block, static_cast<std::size_t>(got));
    if (text.size() > bytes_max) {
      return Status{StatusCode::kResourceExhausted, Layer::kRuntime,
                    path + " is longer than NameOptions::bytes_max; raise it if the file is right"};
    }
  }
}

/// Reads the file and judges its list. Any thread.
JudgedList read_list(const std::string& path, const NameLimits& limits, const NameSnapshot& before) {
  auto text = read_all(path, limits.bytes_max);
  if (!text.ok()) {
    const bool is_too_long =
        text.status().code() == StatusCode::kResourceExhausted && text.status().native() == 0;
    return is_too_long ? refused_list(text.status()) : no_list(text.status());
  }
  auto endpoints = parse_lines(*text, limits.endpoints_max);
  if (!endpoints.ok()) return refused_list(endpoints.status().with_context(path));
  return judge(std::move(*endpoints), limits, before);
}

/// Watches the file's folder, not the file: who writes a new file and renames it over the old one leaves a
/// watch of the old one behind. The file may be a symbolic link through another one of the same folder that
/// is exchanged, so every event of the folder counts, and one of another name only when the file has changed.
class FileSource final : public NameSource, private FdWatch, private Timer {
 public:
  FileSource(Loop& loop, NameBoard& board, std::string path)
      : loop_(loop),
        board_(board),
        path_(std::move(path)),
        folder_(path_.substr(0, path_.rfind('/') + 1)),
        file_name_(path_.substr(path_.rfind('/') + 1)),
        backoff_(board.options().backoff_min, board.options().backoff_max) {}
  ~FileSource() override {
    scope_.drop_all();
    if (watched()) loop_.unwatch(*this);
  }

  Result<void> begin() {
    inotify_ = Descriptor{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
    if (!inotify_) return errno_status(Layer::kRuntime, "inotify_init1 for " + path_, errno);
    if (auto watched = loop_.watch(*this, inotify_.get()); !watched.ok()) return watched;
    watch_folder();
    return {};
  }

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    std::int64_t seconds = 0;
    std::int64_t nanoseconds = 0;
    bool operator==(const Identity&) const = default;
  };

  Identity identity() const {
    struct stat facts{};
    if (::stat(path_.c_str(), &facts) != 0) return {};
    return {facts.st_dev, facts.st_ino, facts.st_size, facts.st_ctim.tv_sec, facts.st_ctim.tv_nsec};
  }

  void watch_folder() {
    constexpr std::uint32_t kEvents = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE |
                                      IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR;
    folder_watch_ = ::inotify_add_watch(inotify_.get(), folder_.c_str(), kEvents);
    if (folder_watch_ < 0) {
      const int error = errno;
      board_.fail(errno_status(Layer::kRuntime, "the folder " + folder_ + " cannot be watched", error));
      return loop_.arm(*this, saturated_sum(loop_.now(), backoff_.next(loop_.random().next())));
    }
    backoff_.reset();
    read_file();
  }

  void on_timer() override { watch_folder(); }

  void on_ready(Readiness) override {
    alignas(inotify_event) char block[16 * (sizeof(inotify_event) + NAME_MAX + 1)];
    bool ours = false;
    bool any = false;
    bool folder_gone = false;
    for (ssize_t got = 0; (got = ::read(inotify_.get(), block, sizeof block)) > 0;) {
      for (ssize_t at = 0; at < got;) {
        inotify_event event{};
        std::memcpy(&event, block + at, sizeof event);
        const char* name = block + at + sizeof event;
        at += static_cast<ssize_t>(sizeof event + event.len);
        any = true;
        // A created file is empty until its writer closes it; a link made there is whole.
        const bool only_created = (event.mask & IN_CREATE) != 0;
        if (event.len > 0 && !only_created && file_name_ == name) ours = true;
        if ((event.mask & IN_Q_OVERFLOW) != 0) ours = true;
        if (event.wd == folder_watch_ && (event.mask & (IN_IGNORED | IN_MOVE_SELF)) != 0) folder_gone = true;
      }
    }
    if (folder_gone) return lose_folder();
    if (folder_watch_ >= 0 && (ours || (any && is_another()))) read_file();
  }

  // What stands there now was not there when it was read; an empty one is still being written.
  bool is_another() const {
    const Identity now = identity();
    return now != read_ && now.size != 0;
  }

  void lose_folder() {
    if (folder_watch_ >= 0) ::inotify_rm_watch(inotify_.get(), folder_watch_);
    folder_watch_ = -1;
    board_.fail(
        {StatusCode::kNotFound, Layer::kRuntime, "the folder " + folder_ + " is gone; make it again"});
    loop_.arm(*this, saturated_sum(loop_.now(), backoff_.next(loop_.random().next())));
  }

  void read_file() {
    read_ = identity();
    if (reading_) {
      changed_meanwhile_ = true;
      return;
    }
    try {
      if (!LongAnswers::is_long(static_cast<std::size_t>(read_.size))) {
        return board_.take(read_list(path_, board_.limits(), board_.list()));
      }
      reading_ = true;
      next_turn_.emplace(loop_, [this] { begin_reading(); });
    } catch (const std::bad_alloc&) {
      fail_for_memory();
    }
  }

  void begin_reading() {
    try {
      scope_.spawn(&FileSource::read_long_file, this);
    } catch (const std::bad_alloc&) {
      fail_for_memory();
    }
  }

  static Task<void> read_long_file(FileSource* self) {
    try {
      do {
        self->changed_meanwhile_ = false;
        Task<Result<JudgedList>> reading =
            self->long_answers_.read(static_cast<std::size_t>(self->read_.size), &read_list, self->path_,
                                     self->board_.limits(), self->board_.list());
        Result<JudgedList> list = co_await std::move(reading);
        self->board_.take(list.ok() ? std::move(*list) : no_list(list.status()));
      } while (self->changed_meanwhile_);
      self->reading_ = false;
    } catch (const std::bad_alloc&) {
      self->fail_for_memory();
    }
  }

  void fail_for_memory() {
    reading_ = false;
    board_.fail(Status::of<kOutOfMemory>());
    loop_.arm(*this, saturated_sum(loop_.now(), backoff_.next(loop_.random().next())));
  }

  Loop& loop_;
  NameBoard& board_;
  const std::string path_;
  const std::string folder_;
  const std::string file_name_;
  Backoff backoff_;
  Descriptor inotify_;
  int folder_watch_ = -1;
  Identity read_;
  /// A long file is being read, or will be in the next turn; it has changed since.
  bool reading_ = false;
  bool changed_meanwhile_ = false;
  LongAnswers long_answers_;
  Scope scope_;
  std::optional<FirstTurn> next_turn_;
};

}  // namespace

MadeSource make_file_source(Loop& loop, NameBoard& board, std::string_view rest) {
  if (rest.starts_with("//")) rest.remove_prefix(2);
  if (!rest.starts_with('/') || rest.ends_with('/') || rest.size() >= PATH_MAX ||
      rest.find('\0') != rest.npos) {
    return bad_name("the name holds no absolute path of a file (file:/etc/servers.txt)");
  }
  auto source = std::make_unique<FileSource>(loop, board, std::string{rest});
  if (auto begun = source->begin(); !begun.ok()) return std::move(begun).status();
  return source;
}

}  // namespace weft::detail
