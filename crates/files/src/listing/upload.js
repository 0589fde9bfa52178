'use strict';
(() => {
  const AT_ONCE = 2;
  const REASONS = {
    403: 'The server does not accept this file', 404: 'The folder does not exist any more',
    405: 'There is a folder of this name', 409: 'There is a file of this name', 412: 'There is a file of this name',
    413: 'The file is too large for this server', 507: 'There is no room left on the server',
  };
  const section = document.querySelector('.upload');
  const [drop, input, list, summary] = ['label', 'input', 'ul', 'p'].map((name) => section.querySelector(name));
  const uploads = [];
  drop.hidden = false;

  class Upload {
    constructor(file) {
      this.file = file;
      this.name = file.name;
      this.copies = 1;
      this.item = document.createElement('li');
      const parts = ['span', 'progress', 'output', 'button'].map((tag) => document.createElement(tag));
      [this.label, this.bar, this.text, this.button] = parts;
      this.bar.max = 1;
      this.button.type = 'button';
      this.item.append(...parts);
      list.append(this.item);
      this.wait();
    }

    show(state, text, action, does) {
      this.state = state;
      this.item.className = state;
      this.label.textContent = this.name;
      this.bar.setAttribute('aria-label', this.name);
      this.text.textContent = text;
      this.button.textContent = action || '';
      this.button.hidden = !action;
      this.button.setAttribute('aria-label', `${action}: ${this.name}`);
      this.button.onclick = does || null;
    }

    wait() {
      this.bar.value = 0;
      this.show('waiting', 'Waiting', 'Cancel', () => this.cancel());
    }

    send() {
      this.show('sending', '0 %', 'Cancel', () => this.cancel());
      const request = this.request = new XMLHttpRequest();
      request.upload.onprogress = (event) => {
        if (!event.lengthComputable || !event.total) return;
        this.bar.value = event.loaded / event.total;
        this.text.textContent = event.loaded < event.total ? `${Math.floor(100 * this.bar.value)} %` : 'Storing';
      };
      request.onload = () => (request.status < 300 ? this.finish() : this.fail(request.status));
      request.onerror = () => this.fail(0);
      try {
        request.open('PUT', `./${encodeURIComponent(this.name)}`);
      } catch {
        this.fail(403);
        return;
      }
      request.setRequestHeader('Serow-Upload', '1');
      request.send(this.file);
    }

    finish() {
      this.bar.value = 1;
      this.show('done', 'Uploaded');
      next();
    }

    fail(status) {
      const reason = REASONS[status] || (status ? `Error ${status}` : 'The connection was lost');
      const exists = status === 409 || status === 412;
      this.show('failed', reason, exists ? 'Keep both' : 'Retry', () => {
        if (exists) this.rename();
        this.wait();
        next();
      });
      next();
    }

    rename() {
      this.copies += 1;
      const dot = this.file.name.lastIndexOf('.');
      const end = dot > 0 ? dot : this.file.name.length;
      this.name = `${this.file.name.slice(0, end)} (${this.copies})${this.file.name.slice(end)}`;
    }

    cancel() {
      if (this.request) this.request.abort();
      this.item.remove();
      uploads.splice(uploads.indexOf(this), 1);
      next();
    }
  }

  const count = (state) => uploads.filter((upload) => upload.state === state).length;

  // Starts what may start, and shows the new files at the end.
  function next() {
    for (const upload of uploads) {
      if (count('sending') >= AT_ONCE) break;
      if (upload.state === 'waiting') upload.send();
    }
    const [done, failed] = [count('done'), count('failed')];
    summary.textContent = uploads.length ? `${done} of ${uploads.length} uploaded${failed ? `, ${failed} failed` : ''}` : '';
    if (done && !count('sending') && !count('waiting')) refresh();
  }

  async function refresh() {
    const response = await fetch(location.href, { headers: { Accept: 'text/html' } }).catch(() => null);
    if (!response || !response.ok) return;
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    for (const part of ['table', 'header p']) {
      const [old, current] = [document, page].map((where) => where.querySelector(part));
      if (old && current) old.replaceWith(current);
    }
  }

  function add(files) {
    uploads.push(...Array.from(files, (file) => new Upload(file)));
    next();
  }

  input.onchange = () => {
    add(input.files);
    input.value = '';
  };

  const hasFiles = (event) => event.dataTransfer && Array.from(event.dataTransfer.types).includes('Files');
  addEventListener('dragover', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'copy';
    drop.classList.add('over');
  });
  addEventListener('dragleave', (event) => event.relatedTarget || drop.classList.remove('over'));
  addEventListener('drop', (event) => {
    drop.classList.remove('over');
    if (!hasFiles(event)) return;
    event.preventDefault();
    const items = Array.from(event.dataTransfer.items).filter((item) => item.kind === 'file');
    const isFolder = (item) => item.webkitGetAsEntry && item.webkitGetAsEntry()?.isDirectory;
    const folders = items.filter(isFolder).length;
    add(items.filter((item) => !isFolder(item)).map((item) => item.getAsFile()).filter(Boolean));
    if (folders) summary.textContent += ' Folders cannot be uploaded: choose the files in them.';
  });
  addEventListener('beforeunload', (event) => count('sending') && event.preventDefault());
})();
