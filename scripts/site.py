# A hook of MkDocs: links from pages to files of the repository outside of docs/ lead to the code host. Programs that stand
# beside pages are no part of the site.
import os
import re

LINK = re.compile(r"\]\((\.\./[^)\s]*)\)")


def on_files(files, config):
    for file in [f for f in files if f.src_path.endswith(".go")]:
        files.remove(file)


def on_page_markdown(markdown, page, config, files):
    folder = os.path.dirname(page.file.abs_src_path)
    root = os.path.dirname(config["config_file_path"])

    def outside(match):
        path, _, anchor = match.group(1).partition("#")
        target = os.path.normpath(os.path.join(folder, path))
        if target.startswith(config["docs_dir"] + os.sep) and not os.path.isdir(target):
            return match.group(0)
        kind = "tree" if os.path.isdir(target) else "blob"
        anchor = "#" + anchor if anchor else ""
        return f"]({config['repo_url']}/{kind}/main/{os.path.relpath(target, root)}{anchor})"

    return LINK.sub(outside, markdown)
