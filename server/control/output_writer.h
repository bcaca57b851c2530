// Writes a job's output into files, by a thread of its own: a file system may
// let it wait.
#ifndef CANOPY_SERVER_CONTROL_OUTPUT_WRITER_H_
#define CANOPY_SERVER_CONTROL_OUTPUT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "common/bytes.h"
#include "common/event_loop.h"
#include "common/status.h"
#include "server/ports/job_commands_port.h"

namespace canopy::control {

// How much of it is in each file. Where both are one, `error` stays 0.
struct OutputPositions {
  uint64_t output = 0;
  uint64_t error = 0;
};

// Loop thread only.
class OutputWriter {
 public:
  // So many pieces more were written, or could not be (a status, once for each
  // file): what follows is dropped. Never from within Write.
  using Done = std::function<void(size_t pieces, const OutputPositions& at,
                                  const Status& status)>;

  // Opens the files, in this thread. `from`: none of a new job, whose files are
  // made or emptied; of one that goes on, what comes after it is removed. The
  // status says which file can not be opened, and why.
  static Result<std::unique_ptr<OutputWriter>> Open(EventLoop* loop,
                                                    const HostOutput& names,
                                                    const OutputPositions* from,
                                                    Done done);
  // What is not written yet may come to be. `done` is not called any more.
  ~OutputWriter();
  OutputWriter(const OutputWriter&) = delete;
  OutputWriter& operator=(const OutputWriter&) = delete;

  // Where the first piece goes.
  const OutputPositions& begin() const { return begin_; }

  void Write(bool error, Bytes data);

 private:
  struct Shared;

  OutputWriter(std::shared_ptr<Shared> shared, const OutputPositions& begin)
      : shared_(std::move(shared)), begin_(begin) {}
  static void Serve(const std::shared_ptr<Shared>& shared);

  const std::shared_ptr<Shared> shared_;
  const OutputPositions begin_;
};

}  // namespace canopy::control

#endif  // CANOPY_SERVER_CONTROL_OUTPUT_WRITER_H_
